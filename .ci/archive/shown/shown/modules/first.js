import { text } from "./second.js";
import { more } from "./preloaded.js";
document.body.append(text, more);
