#include "sampling/core/settings.h"
#include "sampling/core/spelling.h"

#include <doctest/doctest.h>

#include <cmath>

namespace flowtrain::settings_test {

namespace {

const Origin here{"configs/a.toml", 12, 3};

Key choice(Key key, std::vector<std::string> choices) {
  key.choices = std::move(choices);
  return key;
}

Settings loader() {
  return Settings("loader", {{"batch", Kind::integer, std::int64_t{64}, "samples per step", 1, 4096},
                             {"pin", Kind::boolean, true, "page-locked memory"},
                             {"rate", Kind::real, 0.5, "a share", 0, 1},
                             choice({"name", Kind::text, "a", "which"}, {"a", "b"}),
                             {"sizes", Kind::integers, std::vector<std::int64_t>{1, 2}, "sizes", 1},
                             {"mean", Kind::reals, std::vector<double>{}, "means", -1, 1},
                             {"files", Kind::texts, std::vector<std::string>{}, "files"},
                             {"every", Kind::integer_or_text, std::int64_t{500}, "a period", 0}});
}

/// The error that setting `name` to `value` ends in.
UserError refusal(const std::string& name, const Value& value, const Origin& origin = here) {
  auto settings = loader();
  try {
    settings.set(name, value, origin);
  } catch (const UserError& error) {
    return error;
  }
  FAIL("no error for " << name << " = " << to_toml(value));
  throw InternalError("unreachable");
}

}  // namespace

TEST_CASE("settings start at their defaults and say so") {
  const auto settings = loader();
  CHECK(settings.integer("batch") == 64);
  CHECK(settings.boolean("pin"));
  CHECK(settings.text("name") == "a");
  CHECK(settings.integers("sizes") == std::vector<std::int64_t>{1, 2});
  CHECK(!settings.given("batch"));
  CHECK(settings.origin("batch").text() == "default");
  CHECK(settings.has("pin"));
  CHECK(!settings.has("pins"));
}

TEST_CASE("settings keep a value and where it was written") {
  auto settings = loader();
  settings.set("batch", 8, here);
  settings.set("rate", 1, {"--set"});
  settings.set("mean", std::vector<std::int64_t>{0, 1}, here);
  settings.set("every", "2 epochs", here);
  CHECK(settings.integer("batch") == 8);
  CHECK(settings.origin("batch").text() == "configs/a.toml:12:3");
  CHECK(settings.real("rate") == 1.0);
  CHECK(settings.origin("rate").text() == "--set");
  CHECK(settings.reals("mean") == std::vector<double>{0, 1});
  CHECK(std::get<std::string>(settings.value("every")) == "2 epochs");
  settings.set("every", 7, {"--set"});
  CHECK(std::get<std::int64_t>(settings.value("every")) == 7);
}

TEST_CASE("an empty list fits every list, and nothing else") {
  auto settings = loader();
  for (const Value& empty :
       {Value(std::vector<std::int64_t>()), Value(std::vector<double>()), Value(std::vector<std::string>())}) {
    settings.set("sizes", empty, here);
    settings.set("mean", empty, here);
    settings.set("files", empty, here);
    CHECK(settings.integers("sizes").empty());
    CHECK_THROWS_AS(settings.set("name", empty, here), UserError);
  }
}

TEST_CASE("one number may stand for a list of integers whose default is a number") {
  Settings settings("sampler", {{"size", Kind::integers, std::int64_t{0}, "height and width", 0, 4096}});
  CHECK(settings.integer("size") == 0);
  settings.set("size", 224, here);
  CHECK(settings.integer("size") == 224);
  CHECK(to_toml(settings.value("size")) == "224");
  settings.set("size", std::vector<std::int64_t>{48, 64}, here);
  CHECK(settings.integers("size") == std::vector<std::int64_t>{48, 64});
  const auto refused = [&](const Value& value) {
    try {
      settings.set("size", value, here);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  CHECK(refused(5000) == "configs/a.toml:12:3: sampler.size: must be from 0 to 4096, got 5000");
  CHECK(refused(0.5) == "configs/a.toml:12:3: sampler.size: expected an integer or a list of integers, got number 0.5");
}

TEST_CASE("settings refuse a wrong type, naming place, key and value") {
  CHECK(refusal("batch", "big").what() ==
        std::string("configs/a.toml:12:3: loader.batch: expected an integer, got text \"big\""));
  CHECK(refusal("batch", 1.5).what() ==
        std::string("configs/a.toml:12:3: loader.batch: expected an integer, got number 1.5"));
  CHECK(refusal("pin", 1, {"--set"}).what() == std::string("--set: loader.pin: expected true or false, got integer 1"));
  CHECK(refusal("sizes", std::vector<double>{0.5}).what() ==
        std::string("configs/a.toml:12:3: loader.sizes: expected a list of integers, got list [0.5]"));
  CHECK(refusal("every", true).what() ==
        std::string("configs/a.toml:12:3: loader.every: expected an integer or text in quotes, got boolean true"));
  CHECK(refusal("batch", "big").code() == ExitCode::usage);
  CHECK(refusal("batch", "big").hint() == "loader.batch: samples per step");
}

TEST_CASE("settings refuse what is out of bounds, naming the bounds") {
  CHECK(refusal("batch", 0).what() == std::string("configs/a.toml:12:3: loader.batch: must be from 1 to 4096, got 0"));
  CHECK(refusal("rate", 1.25).what() == std::string("configs/a.toml:12:3: loader.rate: must be from 0 to 1, got 1.25"));
  CHECK(refusal("rate", std::nan("")).what() ==
        std::string("configs/a.toml:12:3: loader.rate: must be from 0 to 1, got nan"));
  CHECK(refusal("sizes", std::vector<std::int64_t>{3, 0}).what() ==
        std::string("configs/a.toml:12:3: loader.sizes: each element must be at least 1, got 0"));
  CHECK(refusal("name", "c").what() ==
        std::string("configs/a.toml:12:3: loader.name: must be one of \"a\", \"b\", got \"c\""));
}

TEST_CASE("an unknown key is refused with the nearest known one") {
  const auto error = refusal("bacth", 3);
  CHECK(error.what() == std::string("configs/a.toml:12:3: loader.bacth: unknown key"));
  CHECK(error.hint() == "did you mean 'batch'? known: batch, pin, rate, name, sizes, mean, files, every");
  CHECK(refusal("zzzzzz", 3).hint() == "known: batch, pin, rate, name, sizes, mean, files, every");
}

TEST_CASE("a refused value changes nothing") {
  auto settings = loader();
  CHECK_THROWS_AS(settings.set("batch", 0, here), UserError);
  CHECK(settings.integer("batch") == 64);
  CHECK(!settings.given("batch"));
}

TEST_CASE("required keys") {
  Key dataset{"dataset", Kind::text, "", "which data set"};
  dataset.required = true;
  Settings settings("data", {dataset});
  CHECK_THROWS_WITH_AS(settings.check_required(), "data.dataset: must be given: which data set", UserError);
  settings.set("dataset", "shapes", here);
  CHECK_NOTHROW(settings.check_required());
}

TEST_CASE("error() names the key, and its place if there is one") {
  auto settings = loader();
  CHECK(settings.error("name", "no such thing").what() == std::string("loader.name: no such thing"));
  settings.set("name", "b", here);
  const auto error = settings.error("name", "no such thing", ExitCode::data, "look elsewhere");
  CHECK(error.what() == std::string("configs/a.toml:12:3: loader.name: no such thing"));
  CHECK(error.code() == ExitCode::data);
  CHECK(error.hint() == "look elsewhere");
  CHECK(Settings("", {{"base", Kind::text, std::string(), ""}}).error("base", "gone").what() ==
        std::string("base: gone"));
}

TEST_CASE("mistakes of the program, not of the user") {
  const auto settings = loader();
  CHECK_THROWS_AS(settings.integer("nothing"), InternalError);
  CHECK_THROWS_AS(settings.integer("name"), InternalError);
  CHECK_THROWS_AS(Settings("t", {{"a", Kind::integer, 1.5, ""}}), InternalError);
  CHECK_THROWS_AS(Settings("t", {{"a", Kind::real, 1, ""}, {"a", Kind::real, 1, ""}}), InternalError);
}

TEST_CASE("values as TOML") {
  CHECK(to_toml(true) == "true");
  CHECK(to_toml(-3) == "-3");
  CHECK(to_toml(0.1) == "0.1");
  CHECK(to_toml(2.0) == "2.0");
  CHECK(to_toml(1e30) == "1e+30");
  CHECK(to_toml(-INFINITY) == "-inf");
  CHECK(to_toml("a \"b\"\\\n\x01") == "\"a \\\"b\\\"\\\\\\n\\u0001\"");
  CHECK(to_toml(std::vector<double>{0.5, 1}) == "[0.5, 1.0]");
  CHECK(to_toml(std::vector<std::string>{"x", "y"}) == "[\"x\", \"y\"]");
  CHECK(to_toml(std::vector<std::int64_t>{}) == "[]");
}

TEST_CASE("the nearest name") {
  const std::vector<std::string> names{"batch", "prefetch", "workers"};
  CHECK(nearest("bacth", names) == "batch");
  CHECK(nearest("worker", names) == "workers");
  CHECK(nearest("prefech", names) == "prefetch");
  CHECK(nearest("colour", names) == "");
  CHECK(nearest("", names) == "");
  CHECK(nearest("x", {}) == "");
}

TEST_CASE("a name is similar to one with the same words where none is spelt like it") {
  const std::vector<std::string> names{"batch", "last_batch", "cache_mb", "batch_memory_mb", "grace_seconds", "warmup"};
  CHECK(similar("bacth", names) == "batch");
  CHECK(similar("last", names) == "last_batch");
  CHECK(similar("keep_mb", names) == "cache_mb");
  CHECK(similar("grace", names) == "grace_seconds");
  CHECK(similar("warm", names) == "warmup");
  CHECK(similar("colour", names) == "");
  CHECK(similar("x_y", names) == "");
}

TEST_CASE("a choice that is misspelt is told with the one that was meant") {
  auto settings = Settings("val", {choice({"mode", Kind::text, "inline", "when"}, {"inline", "async"})});
  const auto message = [&](const char* value) {
    try {
      settings.set("mode", value, here);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message("asnyc").ends_with("must be one of \"inline\", \"async\", got \"asnyc\"; did you mean \"async\"?"));
  CHECK(message("INLINE").ends_with("; did you mean \"inline\"?"));
  CHECK(message("later").ends_with("got \"later\""));
}

}  // namespace flowtrain::settings_test
