#include "pipeline/config/periods.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "sampling/core/parse.h"
#include "sampling/core/settings.h"

namespace flowtrain {
namespace {

/// A number at the start of `text`, which is cut off; nothing where there is none.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Adds the key's name and place to what `parse` complains of.
template <class Parse>
auto named(const Settings& settings, const std::string& key, Parse parse) {
  try {
    return parse(settings.value(key));
  } catch (const UserError& error) {
    throw settings.error(key, error.what(), error.code(), error.hint());
  }
}

}  // namespace

std::uint64_t Period::to_iterations(std::uint64_t iterations_per_epoch) const {
  switch (unit) {
    case Unit::iterations: return count;
    case Unit::epochs: {
      std::uint64_t product;
      bool too_large = __builtin_mul_overflow(count, iterations_per_epoch, &product);
      return too_large ? std::numeric_limits<std::uint64_t>::max() : product;
    }
    case Unit::per_epoch: {
      if (count == 0) return 0;
      auto whole = iterations_per_epoch / count, rest = iterations_per_epoch % count;
      return std::max<std::uint64_t>(1, whole + (rest >= count - rest));
    }
  }
  throw InternalError("a period of no known unit");
}

Period parse_period(const Value& value) {
  auto wrong = [&] {
    return UserError(ExitCode::usage,
                     "expected a number of iterations, \"2 epochs\" or \"10 per epoch\", got " + to_toml(value));
  };
  if (auto* iterations = std::get_if<std::int64_t>(&value)) {
    if (*iterations < 0) throw wrong();
    return {Period::Unit::iterations, static_cast<std::uint64_t>(*iterations)};
  }
  auto* text = std::get_if<std::string>(&value);
  if (!text) throw wrong();
  auto rest = trimmed(*text, " ");
  auto count = take_number<std::uint64_t>(rest);
  rest = trimmed(rest, " ");
  if (!count) throw wrong();
  if (rest == "epochs" || rest == "epoch") return {Period::Unit::epochs, *count};
  if (rest == "per epoch") return {Period::Unit::per_epoch, *count};
  throw wrong();
}

std::uint64_t Share::of(std::uint64_t total) const {
  if (!relative) return count;
  if (fraction == 0) return 0;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(fraction * static_cast<double>(total)));
}

Share parse_share(const Value& value) {
  auto wrong = [&] {
    return UserError(ExitCode::usage, "expected a number or a percentage like \"0.1%\", got " + to_toml(value));
  };
  if (auto* count = std::get_if<std::int64_t>(&value)) {
    if (*count < 0) throw wrong();
    return {false, static_cast<std::uint64_t>(*count)};
  }
  auto* text = std::get_if<std::string>(&value);
  if (!text) throw wrong();
  auto rest = trimmed(*text, " ");
  auto percent = take_number<double>(rest);
  if (!percent || trimmed(rest, " ") != "%" || !(*percent >= 0 && *percent <= 100)) throw wrong();
  return {true, 0, *percent / 100};
}

Period period(const Settings& settings, const std::string& key) { return named(settings, key, parse_period); }
Share share(const Settings& settings, const std::string& key) { return named(settings, key, parse_share); }

std::optional<std::int64_t> number(const Settings& settings, const std::string& key) {
  if (auto* held = std::get_if<std::int64_t>(&settings.value(key))) return *held;
  return std::nullopt;
}

}  // namespace flowtrain
