#include "stages/torch/validation/ctc_prediction.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "sampling/core/in_parallel.h"

namespace flowtrain {

at::Tensor ctc_prediction(const CtcDecoder& decoder, const nets::NamedTensors& outputs) {
  const at::Tensor& logits = outputs.at("logits");
  if (logits.dim() != 3 || !logits.is_floating_point())
    throw std::invalid_argument(c10::str("it takes logits of shape (rows, classes, frames), and the net gives ",
                                         logits.sizes(), " of ", logits.scalar_type()));
  const std::int64_t rows = logits.size(0), classes = logits.size(1), frames = logits.size(2);
  at::Tensor lengths = at::full({rows}, frames, at::kLong);
  if (outputs.contains("logits_length")) {
    lengths = outputs.at("logits_length").to(at::kCPU, at::kLong).contiguous();
    const auto fits = lengths.ge(0).logical_and_(lengths.le(frames));
    if (lengths.dim() != 1 || lengths.size(0) != rows || !fits.all().item<bool>())
      throw std::invalid_argument(c10::str("logits_length has shape ", lengths.sizes(), ", expected (", rows,
                                           ") of lengths up to the ", frames, " frames"));
  }
  const at::Tensor logs = logits.detach().log_softmax(1, at::kFloat).transpose(1, 2).contiguous().to(at::kCPU);
  std::vector<std::vector<std::int64_t>> found(static_cast<std::size_t>(rows));
  in_parallel(found.size(), static_cast<std::size_t>(at::get_num_threads()), [&](std::size_t row) {
    const auto place = static_cast<std::int64_t>(row);
    const std::int64_t values = lengths.const_data_ptr<std::int64_t>()[place] * classes;
    found[row] = decoder({logs.const_data_ptr<float>() + place * frames * classes, static_cast<std::size_t>(values)},
                         static_cast<std::size_t>(classes));
  });
  std::size_t longest = 1;
  for (auto& labels : found) longest = std::max(longest, labels.size());
  at::Tensor all = at::full({rows, static_cast<std::int64_t>(longest)}, -1, at::kLong);
  for (std::size_t row = 0; row < found.size(); ++row)
    std::ranges::copy(found[row], all.mutable_data_ptr<std::int64_t>() + row * longest);
  return all.to(logits.device());
}

}  // namespace flowtrain
