export type Pair = [number, number];

export function add([a, b]: Pair): number {
	return a + b;
}
