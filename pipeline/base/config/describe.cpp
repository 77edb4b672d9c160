// `flowtrain config --keys`: every key with its type, default and help.

#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/part_kinds.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

const char* name_of(const Key& key) {
  static constexpr const char* names[] = {"true or false",    "integer",         "number",        "text",
                                          "list of integers", "list of numbers", "list of texts", "integer or text"};
  const bool takes_one = key.kind == Kind::integers && std::holds_alternative<std::int64_t>(key.fallback);
  return takes_one ? "integer or list of integers" : names[static_cast<std::size_t>(key.kind)];
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
  for (auto& table : core_tables()) {
    const std::string& name = table.name;
    const auto header = table.repeats == Repeats::yes ? "[[" + name + "]]" : "[" + name + "]";
    if (!name.empty()) text += concat("\n", header, "  ", table.help, "\n");
    text += describe(table.keys);
    for (auto& kind : part_kinds())
      if (kind.table == name && name != "data.source") text += describe_parts(kind);
  }
  return text;
}

}  // namespace flowtrain
