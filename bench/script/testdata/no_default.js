// about: a script without the function that is asked for
export function other() {}
