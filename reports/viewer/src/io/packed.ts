// packed.ts - parts of this page that lie in it packed (build.mjs): text of the worker and of the scene.

/** Of the element with this id; empty where there is none. */
export async function unpack(id: string): Promise<string> {
  const packed = document.getElementById(id)?.textContent ?? '';
  if (packed === '') return '';
  const stream = new DecompressionStream('deflate-raw');
  const writer = stream.writable.getWriter(); // a Blob's stream would go through another process first
  const written = writer.write(Uint8Array.from(atob(packed), (c) => c.charCodeAt(0))).then(() => writer.close());
  written.catch(() => undefined); // the reader fails as well, and says so
  return new Response(stream.readable).text();
}
