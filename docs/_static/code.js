// What is wider than its box, such as code or a table on a phone, can be scrolled by the keyboard.
for (const box of document.querySelectorAll(".highlight pre, .table-wrapper, .yue p:has(> img)")) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
}
