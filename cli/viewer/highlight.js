// Words of a line and their classes. A line is read by itself; which lines begin inside of a string is found once a text.

const PYTHON = new RegExp(
  [
    /(?<comment>#.*)/,
    /(?<string>"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)/,
    /(?<number>\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d*)?(?:e[-+]?\d+)?))/,
    /(?<decorator>@[\w.]+)/,
    /(?<builtin>\b[TIGR]\.[\w.]+)/,
    /(?<defined>(?<=\b(?:def|class) )\w+)/,
    /(?<keyword>\b(?:and|as|assert|break|class|continue|def|elif|else|for|from|if|import|in|is|lambda|not|or|pass|return|while|with|range|True|False|None)\b)/,
    /(?<name>[^\W\d]\w*)/u,
  ].map((one) => one.source).join("|"), "gu");
const LLVM = new RegExp(
  [
    /(?<comment>;.*)/,
    /(?<string>c?"[^"]*")/,
    /(?<value>%(?:"[^"]*"|[\w.$-]+))/,
    /(?<builtin>@(?:"[^"]*"|[\w.$-]+))/,
    /(?<meta>![\w.]+|#\d+)/,
    /(?<label>^[\w.$-]+:)/,
    /(?<number>\b(?:0x[\dA-Fa-f]+|-?\d+(?:\.\d+(?:e[-+]?\d+)?)?)\b)/,
    /(?<type>\b(?:i\d+|float|double|half|bfloat|ptr|void|x|label|metadata)\b)/,
    /(?<keyword>\b(?:define|declare|ret|br|switch|phi|load|store|call|tail|getelementptr|inbounds|add|sub|mul|f(?:add|sub|mul|div|neg|rem|cmp)|[su]div|[su]rem|shl|[al]shr|and|or|xor|icmp|select|alloca|bitcast|[sz]ext|trunc|fp(?:ext|trunc|to[su]i)|[su]itofp|ptrtoint|inttoptr|insertelement|extractelement|shufflevector|unreachable|freeze|attributes|to|align)\b)/,
  ].map((one) => one.source).join("|"), "gu");
const ASSEMBLY = new RegExp(
  [
    /(?<comment>(?:#|\/\/).*)/,
    /(?<string>"[^"]*")/,
    /(?<label>^[\w.$"]+:)/,
    /(?<meta>(?<=^\s*)\.\w+)/,
    /(?<keyword>(?<=^\s+)[a-z][\w.]*)/,
    /(?<value>%\w+|\b[vxwdsqr]\d+\b)/,
    /(?<number>\$?-?\b(?:0x[\da-f]+|\d+)\b)/,
    /(?<builtin>\.L\w+)/,
  ].map((one) => one.source).join("|"), "gu");
const LANGUAGES = { python: PYTHON, llvm: LLVM, assembly: ASSEMBLY };

function wordsOf(line, language, open) {
  // [[start, end, class]] of a line; `open` is the quote that a string begun above is closed by
  const found = [];
  let from = 0;
  if (open) {
    const close = line.indexOf(open);
    from = close < 0 ? line.length : close + 3;
    found.push([0, from, "string"]);
  }
  const pattern = LANGUAGES[language];
  pattern.lastIndex = from;
  for (let match; (match = pattern.exec(line)); ) {
    if (!match[0]) {
      pattern.lastIndex++;
      continue;
    }
    let end = pattern.lastIndex;
    const triple = language === "python" && (match[0] === '""' || match[0] === "''") && line[end] === match[0][0];
    if (triple) {
      const close = line.indexOf(match[0][0].repeat(3), end + 1);
      end = close < 0 ? line.length : close + 3;
      pattern.lastIndex = end;
      found.push([match.index, end, "string"]);
      continue;
    }
    for (const kind in match.groups) {
      if (match.groups[kind] !== undefined) {
        found.push([match.index, end, kind]);
        break;
      }
    }
  }
  return found;
}

function openStrings(text, lines) {
  // for each line that begins inside of a triple-quoted string: the quote that closes it
  const found = new Map();
  if (!text.includes('"""') && !text.includes("'''")) return found;
  const pattern = /#.*|("""|''')(?:\\[^]|(?!\1)[^\\])*(?:\1)?|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?/g;
  let line = 0, at = 0;
  for (let match; (match = pattern.exec(text)); ) {
    if (!match[1] || !match[0].includes("\n")) continue;
    while (at + lines[line].length < match.index) at += lines[line++].length + 1;
    const end = match.index + match[0].length;
    let below = line, start = at;
    while (start + lines[below].length < end && below + 1 < lines.length) {
      start += lines[below++].length + 1;
      if (start < end) found.set(below, match[1]);
    }
  }
  return found;
}
