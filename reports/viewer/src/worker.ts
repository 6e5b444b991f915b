// worker.ts - the worker's own thread: a server of queries. Pixels go to the page as an image where the browser can make one here.
import { prepareReader } from './decode/reader';
import type { Picture } from './work/camera';
import { Server } from './work/server';
import type { FromServer, ToServer } from './work/server';

const scope = globalThis as unknown as {
  onmessage: (e: MessageEvent<ToServer>) => void;
  postMessage(m: unknown, transfer: Transferable[]): void;
};

function isPicture(value: unknown): value is Picture {
  return typeof value === 'object' && value !== null && 'pixels' in value;
}

async function post(m: FromServer): Promise<void> {
  if (!isPicture(m.value)) return scope.postMessage(m, []);
  const { width, height, pixels } = m.value;
  const data = new ImageData(new Uint8ClampedArray(pixels.buffer as ArrayBuffer), width, height);
  const image = await createImageBitmap(data);
  scope.postMessage({ ...m, value: { ...m.value, pixels: new Uint32Array(0), image } }, [image]);
}

prepareReader().catch(() => undefined); // who opens a trace says so
const server = new Server((m) => void post(m));
scope.onmessage = (e) => server.receive(e.data);
