export function Question() {
  return null;
}
