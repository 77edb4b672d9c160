// make_script FILE FORWARD: a TorchScript module with parameters `weight` (768, 6) and `bias` (6), and this source of
// its forward.

#include <torch/script.h>

#include <cstdio>
#include <exception>

int main(int count, char** words) try {
  if (count != 3) return 2;
  at::manual_seed(1);
  torch::jit::Module module("Scripted");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_parameter("weight", (at::randn({768, 6}) * 0.01).requires_grad_(), /*is_buffer=*/false);
  module.register_parameter("bias", at::zeros({6}).requires_grad_(), /*is_buffer=*/false);
  module.define(words[2]);
  module.save(words[1]);
  return 0;
} catch (const std::exception& error) {
  std::fputs(error.what(), stderr);
  return 1;
}
