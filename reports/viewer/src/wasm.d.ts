// wasm.d.ts - what reader/ compiles, which build.mjs puts in: its bytes, deflated.
declare module '*.wasm' {
  const packed: Uint8Array;
  export default packed;
}
