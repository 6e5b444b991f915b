// camera.ts - what a picture of the timeline is asked for by, and what comes back. Known on both sides of the worker.
import type { Rgb } from '../layout/color';
import type { WidthScale } from '../layout/lines';
import type { Members, Rows } from '../layout/rows';
import type { Filter } from '../model/filter';

export interface Camera {
  from: number; // ns
  to: number;
  width: number; // CSS pixels of the plot
  height: number;
  ratio: number; // device pixels a CSS pixel
  rows: Rows;
  members: Members;
  dark: boolean;
  idle: Rgb;
  paper: Rgb;
  text: Rgb;
  showMessages: boolean;
  widthScale: WidthScale;
  bytesPerPixel: number;
  filter: Filter;
  lateness: boolean; // colours are lateness, not classes
}

export interface Picture {
  camera: Camera;
  width: number; // device pixels
  height: number;
  pixels: Uint32Array; // empty where there is an image
  image?: ImageBitmap;
  detail: 'events' | 'summary';
  absent: boolean; // tiles stand for calls that are in the rest of the trace
  rough: boolean; // tiles stand for calls that are not all read
  messageDetail: 'all' | 'largest';
  chunks: number; // of bars
  events: number; // calls in view, one by one
  lines: number; // messages drawn
  messages: number; // in view; with 'largest' an estimate
  missing: number; // chunks that are not read yet
  damaged: string[]; // what is wrong, each once
  spans: number; // wait states drawn
  late: { most: number; tooMany: number } | null; // where colours are lateness: the largest, ns; calls, if they are too many
}
