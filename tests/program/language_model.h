#pragma once
// A small language model, and the text that it learns.

#include <string>

#include "tests/support/temp_run.h"

namespace flowtrain {

/// A GPT-2 of bytes with dropout, on windows of 32 bytes of text.txt.
inline constexpr const char* language_config = R"(name = "tiny"
[run]
threads = 1
max_iter = 60
[data]
dataset = "text"
path = "text.txt"
window = 32
val_share = 0.2
[[field]]
name = "tokens"
from = "text"
as = "lm"
max = 32
[loader]
batch = 8
workers = 2
[net]
name = "gpt2"
layers = 1
heads = 2
width = 32
dropout = 0.1
[loss]
ignore_index = -100
[optim]
name = "adamw"
lr = 0.01
[val]
every = 20
metrics = ["perplexity", "bits_per_byte"]
[snapshot]
every = 7
keep_last = 4
[display]
every = 5
)";

/// A folder with the configuration and its text, 300 lines of 47 to 49 bytes.
class LanguageRun : public TempRun {
 public:
  LanguageRun() : TempRun(language_config) {
    std::string text;
    for (int line = 0; line < 300; ++line)
      text += "the quick brown fox jumps over " + std::to_string(line) + " lazy dogs, then\n";
    folder().write("text.txt", text);
  }
};

}  // namespace flowtrain
