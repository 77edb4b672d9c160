#include "pipeline/base/telemetry/environment.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <regex>

namespace flowtrain::environment_test {

TEST_CASE("env.json says what the run ran on") {
  ::setenv("OMP_TELEMETRY_TEST", "3", 1);
  ::setenv("TELEMETRY_TEST_TOKEN", "hush", 1);
  auto json = environment_json({}, {{"torch", "2.11.0"}, {"note", "a \"b\""}});
  ::unsetenv("OMP_TELEMETRY_TEST");
  ::unsetenv("TELEMETRY_TEST_TOKEN");

  auto holds = [&](const char* pattern) {
    CAPTURE(pattern);
    CHECK(std::regex_search(json, std::regex(pattern)));
  };
  holds("^\\{\n  \"version\": \"[0-9.]+\",\n");
  holds("\"revision\": \"(unknown|[0-9a-f]{7,}(-dirty)?)\"");
  holds("\"compiler\": \"[A-Za-z]+ [0-9.]+\"");
  holds("\"tbb\": \"[0-9.]+\"");
  holds("\"command\": \\[\n    \"[^\"]*test_[^\"]*\"");
  holds("\"started\": \"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ\"");
  holds("\"os\": \"[^\"]+\"");
  holds("\"kernel\": \"Linux [^\"]+\"");
  holds("\"cpu\": \"[^\"]+\"");
  holds("\"cpu_cores\": [1-9]");
  holds("\"cpu_cores_affinity\": [1-9]");
  holds("\"cpu_quota\": (null|[0-9.]+)");
  holds("\"cpu_cores_usable\": [1-9]");
  holds("\"memory_bytes\": [1-9]\\d{6}");
  holds("\"OMP_TELEMETRY_TEST\": \"3\"");
  holds("\"torch\": \"2\\.11\\.0\",\n  \"note\": \"a \\\\\"b\\\\\"\"\n\\}\n$");
  CHECK(json.find("hush") == std::string::npos);
  CHECK(json.find("\"PATH\"") == std::string::npos);
}

TEST_CASE("env.json says what GPUs there are and what reaches them, or that there is none") {
  const auto has = [](const GpuFacts& gpu, const std::string& text) {
    const std::string json = environment_json(gpu);
    CHECK_MESSAGE(json.find(text) != std::string::npos, text << " in " << json);
  };
  for (const char* key : {"gpus", "cuda", "cuda_driver", "cudnn", "nccl"})
    has({}, std::string("\"") + key + "\": null,\n");
  const GpuFacts two{"12.8", "13.1", "9.10.2", "2.28.3", {{"One", 8}, {"Two", 16}}};
  has(two, "\"cuda\": \"12.8\",\n  \"cuda_driver\": \"13.1\",\n  \"cudnn\": \"9.10.2\",\n  \"nccl\": \"2.28.3\",\n");
  has(two, "{\n      \"name\": \"Two\",\n      \"memory_bytes\": 16\n    }");
}

TEST_CASE("the version names the program and its build") {
  CHECK(std::regex_match(program_version(), std::regex("flowtrain [0-9.]+ \\([^,]+, [A-Za-z]*\\)")));
}

TEST_CASE("env.json masks variables that look like secrets") {
  const char* names[] = {"FLOWTRAIN_SERVE_TOKEN", "FLOWTRAIN_MY_PASSWORD", "OMP_KEY_OF_MINE", "FLOWTRAIN_AUTH_X"};
  for (const char* name : names) ::setenv(name, "hush", 1);
  ::setenv("FLOWTRAIN_DATA", "https://user:hush@host/x?sig=hush", 1);
  const auto json = environment_json({});
  for (const char* name : names) {
    CHECK(json.find(std::string("\"") + name + "\": \"***\"") != std::string::npos);
    ::unsetenv(name);
  }
  ::unsetenv("FLOWTRAIN_DATA");
  CHECK(json.find("https://***@host/x?***") != std::string::npos);
  CHECK(json.find("hush") == std::string::npos);
}

}  // namespace flowtrain::environment_test
