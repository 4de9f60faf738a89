export const text = "named by a map. ";
