export function Workers() {
  return null;
}
