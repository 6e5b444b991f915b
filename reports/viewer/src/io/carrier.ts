// carrier.ts - a page that has this one in a frame, as a report does that carries viewer and trace: it hands over the bytes of the trace,
// and is told when to take the frame away. Only who made this page could have put it behind a blob: address.
import { FileSource, PartSource } from './source';
import type { Part, Source } from './source';

export const isCarried = (): boolean => location.protocol === 'blob:' && parent !== window;

let keptByCarrier = '[]';

/** A text that the page around keeps for this one, which can keep nothing: a frame of its own origin. */
export const carried = {
  get: (): string => keptByCarrier,
  put(text: string): void {
    keptByCarrier = text;
    parent.postMessage({ keep: text }, '*');
  },
};

/** The trace, once it is handed over. */
export function handedOver(): Promise<Source> {
  return new Promise((take) => {
    const listen = (e: MessageEvent) => {
      const { trace, name, part, kept } = Object(e.data) as Record<string, unknown>;
      if (e.source !== parent || !(trace instanceof Blob) || typeof name !== 'string') return;
      removeEventListener('message', listen);
      if (typeof kept === 'string') keptByCarrier = kept;
      take(part ? new PartSource(trace, name, part as Part) : new FileSource(trace, name));
    };
    addEventListener('message', listen);
  });
}

export function goBack(): void {
  parent.postMessage('back', '*');
}
