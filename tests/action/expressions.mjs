// Evaluates the expressions that action.yml uses: names of contexts, words in quotes, ==, !=, &&, || and always().

/** A text with its `${{ … }}` replaced. */
export function filled(text, contexts) {
  return typeof text === "string" ? text.replace(/\$\{\{(.*?)\}\}/gs, (_, inner) => evaluate(inner, contexts)) : String(text);
}

/** Whether a step runs. Without a status function in its condition, it doesn't after a failure. */
export function holds(condition, contexts, isFailed) {
  if (condition === undefined) return !isFailed;
  const value = evaluate(condition, contexts);
  return /\balways\(\)/.test(condition) ? Boolean(value) : Boolean(value) && !isFailed;
}

function evaluate(text, contexts) {
  const words = text.match(/'[^']*'|==|!=|&&|\|\||always\(\)|[A-Za-z_][\w.-]*|\S/g) ?? [];
  let at = 0;
  const value = either();
  if (at < words.length) throw new Error(`not an expression that this reads: ${text}`);
  return value;

  function either() {
    let left = both();
    while (words[at] === "||") {
      at += 1;
      const right = both();
      left = left || right;
    }
    return left;
  }

  function both() {
    let left = compared();
    while (words[at] === "&&") {
      at += 1;
      const right = compared();
      left = left && right;
    }
    return left;
  }

  function compared() {
    const left = one();
    if (words[at] !== "==" && words[at] !== "!=") return left;
    const isEqual = words[at] === "==";
    at += 1;
    return (String(left).toLowerCase() === String(one()).toLowerCase()) === isEqual;
  }

  function one() {
    const word = words[at];
    at += 1;
    if (word === "always()") return true;
    if (/^'/.test(word)) return word.slice(1, -1);
    if (!/^[A-Za-z_]/.test(word ?? "")) throw new Error(`not an expression that this reads: ${text}`);
    // What isn't there is empty.
    return word.split(".").reduce((value, key) => value?.[key], contexts) ?? "";
  }
}
