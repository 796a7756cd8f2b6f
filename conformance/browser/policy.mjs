// forbidden says whether a line of a browser's console tells what a Content-Security-Policy forbade.
export const forbidden = text => /content.security.policy/i.test(text);

// chosen refuses to change the colours of a page for which they are chosen when it is opened.
export function chosen(scheme, wanted) {
  if (wanted && wanted !== scheme) throw Error(`the page was opened in the colours of ${scheme}: this engine does not change them`);
}
