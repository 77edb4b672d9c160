#include "sampling/samplers/decorators/decorator.h"

#include <algorithm>
#include <sstream>

#include "sampling/core/registry.h"

namespace flowtrain {
namespace {

/// Splits "slow, classify" into two names.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream parts(text);
  for (std::string name; std::getline(parts, name, ',');) {
    const auto first = name.find_first_not_of(' '), last = name.find_last_not_of(' ');
    names.push_back(first == name.npos ? "" : name.substr(first, last - first + 1));
  }
  return names;
}

bool same_key(const Key& a, const Key& b) {
  return a.kind == b.kind && a.fallback == b.fallback && a.help == b.help && a.required == b.required;
}

/// Returns whether a sampler is a decorator. A plugin's key called `inner` of another kind does not make one.
bool decorates(const std::string& name) {
  const Key* const inner = find_key(samplers().at(name).keys, "inner");
  return inner && same_key(*inner, inner_key());
}

}  // namespace

Key inner_key() {
  return {.name = "inner",
          .kind = Kind::text,
          .fallback = "",
          .help =
              "sampler that it decorates, whose keys are in this table, too; \"slow, classify\" has another "
              "decorator in between",
          .required = true};
}

std::vector<std::string> sampler_chain(const Settings& settings) {
  std::vector<std::string> chain{settings.text("name")};
  if (!decorates(chain.front())) return chain;
  if (settings.has("inner") && settings.given("inner"))
    for (auto& name : names_in(settings.text("inner"))) {
      if (!samplers().has(name)) try {
          samplers().at(name);
        } catch (const UserError& unknown) {
          throw settings.error("inner", unknown.what(), unknown.code(), unknown.hint());
        }
      if (std::ranges::count(chain, name) > 0)
        throw settings.error("inner", "'" + name + "' is in the chain twice: " + join(chain) + ", " + name,
                             ExitCode::usage, "name each sampler once");
      if (!decorates(chain.back()))
        throw settings.error("inner", "'" + chain.back() + "' decorates no other sampler, but '" + name + "' follows",
                             ExitCode::usage, "name '" + chain.back() + "' last");
      chain.push_back(name);
    }
  if (chain.size() > 1 && decorates(chain.back()))
    throw settings.error("inner", "'" + chain.back() + "' decorates another sampler, but none follows", ExitCode::usage,
                         "write inner = \"" + settings.text("inner") + ", classify\", for example");
  return chain;
}

std::vector<Key> keys_of_chain(const std::vector<std::string>& chain) {
  std::vector<Key> keys;
  for (auto& name : chain)
    for (auto& key : samplers().at(name).keys) {
      const Key* const other = find_key(keys, key.name);
      if (!other) keys.push_back(key);
      if (other && !same_key(*other, key))
        throw UserError(ExitCode::usage,
                        "sampler.inner: two samplers of the chain " + join(chain) + " have a key '" + key.name + "'",
                        "rename the key of your own sampler");
    }
  return keys;
}

std::unique_ptr<Sampler> make_inner(const std::string& decorator, const Settings& settings, const SamplerInput& input) {
  const auto chain = sampler_chain(settings);
  const auto own = std::ranges::find(chain, decorator);
  if (own == chain.end() || own + 1 == chain.end()) throw InternalError("no sampler comes after " + decorator);
  return samplers().at(*(own + 1)).make(settings, input);
}

std::string decorated_sampler(const Settings& settings) { return sampler_chain(settings).back(); }

double draw_for_row(Stream random, std::uint64_t record, std::uint64_t purpose) {
  const std::uint64_t bits = mix64(random.next64() ^ mix64(record + mix64(purpose)));
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace flowtrain
