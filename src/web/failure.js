// The first module: where another one fails it is said, and what stands without script is shown.

function fail(error) {
  const { dataset } = document.documentElement;
  // What browsers themselves report, as a size that changed twice in a frame, comes without an error.
  if (!error || "failed" in dataset) return;
  dataset.failed = "";
  const textContent = document.getElementById("static")
    ? `The views of this page could not be made (${error.message}); what stands below is complete.`
    : `Something of this page could not be made (${error.message}): load it again.`;
  const notice = document.createElement("p");
  document.body.prepend(Object.assign(notice, { className: "notice", role: "alert", textContent }));
}

addEventListener("error", ({ error }) => fail(error));
addEventListener("unhandledrejection", ({ reason }) => fail(reason));
