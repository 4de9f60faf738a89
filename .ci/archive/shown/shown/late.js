const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    const { src, srcset, bg } = target.dataset;
    if (src) target.src = src;
    if (srcset) target.srcset = srcset;
    if (bg) target.style.backgroundImage = `url("${bg}")`;
  }
});
for (const element of document.querySelectorAll("[data-src], [data-srcset], [data-bg]")) seen.observe(element);
