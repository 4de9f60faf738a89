export const more = "preloaded; ";
