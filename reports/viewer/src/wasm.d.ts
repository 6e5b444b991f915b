// wasm.d.ts - the reader that build.mjs puts in: its bytes, deflated.
declare module 'reader.wasm' {
  const packed: Uint8Array;
  export default packed;
}
