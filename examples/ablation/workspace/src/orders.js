import { applyDiscount } from "./billing.js";

export function totalOf(order) {
  return applyDiscount(order.total, order.discount);
}
