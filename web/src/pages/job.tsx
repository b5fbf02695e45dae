export function Job() {
  return null;
}
