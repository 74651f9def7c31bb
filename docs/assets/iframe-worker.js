/* Browsers start no web worker from a file: address. Where the site is opened from a disk, the
   search runs in a hidden frame instead, behind the same interface. Nothing is fetched. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.forward = (event) => {
        if (event.source !== this.frame.contentWindow) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      };
      window.addEventListener("message", this.forward);
      this.ready = new Promise((resolve, reject) => {
        document.body.appendChild(this.frame);
        const inner = this.frame.contentWindow;
        inner.document.open();
        inner.document.write(
          "<!doctype html><script>postMessage = parent.postMessage.bind(parent)<\/script>",
        );
        const script = inner.document.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = reject;
        inner.document.head.appendChild(script);
        inner.document.close();
      });
    }

    postMessage(data) {
      this.ready.then(() => {
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.frame.remove();
      window.removeEventListener("message", this.forward);
    }
  };
  window.Worker = window.IFrameWorker;
}
