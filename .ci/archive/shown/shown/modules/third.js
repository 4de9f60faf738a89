export const text = "the first and the third; ";
