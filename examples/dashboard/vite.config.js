import { defineConfig } from "vite";

export default defineConfig({
  base: "./", // the build can lie in any directory of any server
  server: { fs: { allow: [".", "../../web"] } }, // resume.js comes from there
});
