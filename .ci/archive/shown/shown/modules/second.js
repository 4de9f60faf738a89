export { text } from "./third.js";
