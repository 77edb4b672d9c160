#include "pipeline/base/values/periods.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

/// Removes a number from the start of `text` and returns it; nothing if there is none.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Adds the key's name and place to the error of `parse`.
template <class Parse>
auto named(const Settings& settings, const std::string& key, Parse parse) {
  try {
    return parse(settings.value(key));
  } catch (const UserError& error) {
    throw settings.error(key, error.what(), error.code(), error.hint());
  }
}

}  // namespace

Every Period::to_iterations(const Every& epoch) const {
  switch (unit) {
    case Unit::iterations: return count;
    case Unit::epochs: {
      std::uint64_t product;
      const bool too_large = __builtin_mul_overflow(count, epoch.length, &product);
      return too_large ? Every(std::numeric_limits<std::uint64_t>::max()) : Every(product, epoch.parts);
    }
    case Unit::per_epoch: {
      if (count == 0 || epoch.off()) return 0;
      if (epoch.parts > 1) return count >= epoch.iterations(1) ? Every(1) : Every(epoch.length, epoch.parts * count);
      auto whole = epoch.length / count, rest = epoch.length % count;
      return std::max<std::uint64_t>(1, whole + (rest >= count - rest));
    }
    case Unit::seconds: return 0;
  }
  throw InternalError("a period of an unknown unit");
}

Period parse_period(const Value& value, bool by_clock) {
  auto wrong = [&] {
    return UserError(ExitCode::usage, concat("expected a number of iterations, \"2 epochs\"",
                                             by_clock ? ", \"10 per epoch\" or \"30 min\"" : " or \"10 per epoch\"",
                                             ", got ", to_toml(value)));
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
  constexpr std::uint64_t most_s = 1'000'000'000;
  for (const auto& [unit, seconds] : {std::pair{"s", 1}, {"min", 60}, {"h", 3600}})
    if (by_clock && rest == unit && *count <= most_s)
      return {Period::Unit::seconds, *count * static_cast<std::uint64_t>(seconds)};
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

std::uint64_t bad_sample_budget(const Settings& data, std::uint64_t samples) {
  constexpr std::uint64_t least = 10;  // a share of a smaller set would be one sample or none
  const bool is_auto = data.value("max_bad") == Value(std::string("auto"));
  const std::uint64_t budget =
      is_auto ? std::max(least, Share{true, 0, 0.001}.of(samples)) : share(data, "max_bad").of(samples);
  return data.text("bad") == "stop" ? 0 : budget;
}

Period period(const Settings& settings, const std::string& key, bool by_clock) {
  return named(settings, key, [by_clock](const Value& value) { return parse_period(value, by_clock); });
}
Share share(const Settings& settings, const std::string& key) { return named(settings, key, parse_share); }

std::optional<std::int64_t> number(const Settings& settings, const std::string& key) {
  if (auto* held = std::get_if<std::int64_t>(&settings.value(key))) return *held;
  return std::nullopt;
}

}  // namespace flowtrain
