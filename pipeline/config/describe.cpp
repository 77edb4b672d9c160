// `flowtrain config --keys`: every key with its type, default and help.

#include "pipeline/config/curves.h"
#include "pipeline/config/keys.h"
#include "sampling/core/registry.h"
#include "sampling/dataset.h"
#include "sampling/order.h"
#include "sampling/sampler.h"

namespace flowtrain {
namespace {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::boolean: return "true or false";
    case Kind::integer: return "integer";
    case Kind::real: return "number";
    case Kind::text: return "text";
    case Kind::integers: return "list of integers";
    case Kind::reals: return "list of numbers";
    case Kind::texts: return "list of texts";
    case Kind::integer_or_text: return "integer or text";
  }
  throw InternalError("a key of no known kind");
}

std::string describe(const std::vector<Key>& keys) {
  std::string text;
  for (auto& key : keys) {
    std::string type = name_of(key.kind);
    if (key.kind == Kind::text && !key.choices.empty()) {
      type.clear();
      for (auto& choice : key.choices) type += (type.empty() ? "" : "|") + choice;
    }
    text += "  " + key.name + (key.required ? " (must be given)" : " = " + to_toml(key.fallback)) + "  [" + type +
            "]\n      " + key.help + "\n";
  }
  return text;
}

template <class Registry>
std::string describe_entries(const Registry& registry, const std::string& chooser) {
  std::string text;
  for (auto& name : registry.names()) {
    auto& entry = registry.at(name);
    text += "\n  with " + chooser + " = \"" + name + "\": " + entry.help + "\n" + describe(entry.keys);
  }
  return text;
}

}  // namespace

std::string describe_keys() {
  std::string text =
      "base = []  [list of texts]\n      files read before this one, relative to it; at the top of a file\n";
  for (auto& [name, help, keys, repeats] : core_tables()) {
    const auto header = repeats == Repeats::yes ? "[[" + name + "]]" : "[" + name + "]";
    text += name.empty() ? "" : "\n" + header + "  " + help + "\n";
    text += describe(keys);
    if (name == "schedule") text += describe_entries(curves(), "name");
    if (name == "data") text += describe_entries(datasets(), "dataset");
    if (name == "sampler") text += describe_entries(samplers(), "name");
    if (name == "order") text += describe_entries(orders(), "name");
  }
  return text;
}

}  // namespace flowtrain
