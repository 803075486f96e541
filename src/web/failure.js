// The first module: what stands without script is shown where another one fails before there is a page.

export const showStatic = () => { document.documentElement.dataset.failed = ""; };

addEventListener("error", showStatic);
