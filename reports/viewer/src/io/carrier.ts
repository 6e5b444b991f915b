// carrier.ts - a page that has this one in a frame, as a report does that carries viewer and trace: it hands over the bytes of the trace,
// and is told when to take the frame away. Only who made this page could have put it behind a blob: address.
import { FileSource, PartSource } from './source';
import type { Part, Source } from './source';

export const isCarried = (): boolean => location.protocol === 'blob:' && parent !== window;

/** The trace, once it is handed over. */
export function handedOver(): Promise<Source> {
  return new Promise((take) => {
    const listen = (e: MessageEvent) => {
      const { trace, name, part } = Object(e.data) as { trace?: unknown; name?: unknown; part?: unknown };
      if (e.source !== parent || !(trace instanceof Blob) || typeof name !== 'string') return;
      removeEventListener('message', listen);
      take(part ? new PartSource(trace, name, part as Part) : new FileSource(trace, name));
    };
    addEventListener('message', listen);
  });
}

export function goBack(): void {
  parent.postMessage('back', '*');
}
