// about: TypeScript, with a module in it
import http, { type Response } from 'k6/http';
import { check } from 'k6';
import { add, type Pair } from './lib/add.ts';

enum Kind { First = 1, Second }

interface Item { id: number; name?: string }

class Basket<T extends Item> {
	private readonly items: T[] = [];
	constructor(public owner: string) {}
	put(item: T): this {
		this.items.push(item);
		return this;
	}
	get total(): number {
		return this.items.reduce((sum: number, i: T) => sum + i.id, 0);
	}
}

export const options = { vus: 1, iterations: 2 };

export default function (): void {
	const pair: Pair = [1, 2];
	const basket = new Basket<Item>('ann').put({ id: add(pair) }).put({ id: Kind.Second } satisfies Item);
	const answer = http.post(`${__ENV.BASE}/note`, JSON.stringify({ total: basket.total, owner: basket.owner as string })) as Response;
	check(answer, { noted: (r: Response) => r!.status === 204 });
}
