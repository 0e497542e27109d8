// Rounds half to even, in cents.
export function roundCents(value) {
  return value;
}

export function applyDiscount(total, percent) {
  return roundCents(total * (1 - percent / 100));
}
