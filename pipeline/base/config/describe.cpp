// `flowtrain config --keys`: every key with its type, default and help.

#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/part_kinds.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

const char* name_of(const Key& key) {
  switch (key.kind) {
    case Kind::boolean: return "true or false";
    case Kind::integer: return "integer";
    case Kind::real: return "number";
    case Kind::text: return "text";
    case Kind::integers:
      return std::holds_alternative<std::int64_t>(key.fallback) ? "integer or list of integers" : "list of integers";
    case Kind::reals: return "list of numbers";
    case Kind::texts: return "list of texts";
    case Kind::integer_or_text: return "integer or text";
  }
  throw InternalError("a key of no known kind");
}

std::string describe(const std::vector<Key>& keys) {
  std::string text;
  for (auto& key : keys) {
    const std::string type = key.kind == Kind::text && !key.choices.empty() ? join(key.choices, "|") : name_of(key);
    text += "  " + key.name + (key.required ? " (must be given)" : " = " + to_toml(key.fallback)) + "  [" + type +
            "]\n      " + key.help + "\n";
  }
  return text;
}

std::string describe_parts(const PartKind& kind) {
  std::string text;
  for (auto& name : kind.names()) {
    const PartFacts facts = kind.at(name);
    text += "\n  with " + kind.key + " = \"" + name + "\": " + facts.help + "\n" + describe(facts.keys);
  }
  return text;
}

}  // namespace

std::string describe_keys() {
  std::string text =
      "base = []  [list of texts]\n      files read before this one, relative to it; at the top of a file\n";
  for (auto& [name, help, keys, repeats] : core_tables()) {
    const auto header = repeats == Repeats::yes ? "[[" + name + "]]" : "[" + name + "]";
    if (!name.empty()) text += concat("\n", header, "  ", help, "\n");
    text += describe(keys);
    for (auto& kind : part_kinds())
      if (kind.table == name && name != "data.source") text += describe_parts(kind);
  }
  return text;
}

}  // namespace flowtrain
