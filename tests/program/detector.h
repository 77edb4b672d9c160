#pragma once
// A detection net that trains in a second.

namespace flowtrain {

inline constexpr const char* detector = R"(name = "detector"
[run]
max_iter = 4
threads = 1
[data]
dataset = "shapes"
size = 64
samples = 40
val_samples = 6
objects = 2
[sampler]
name = "cornernet"
input_size = [63, 63]
output_size = [16, 16]
border = 16
[loader]
batch = 4
[net]
name = "cornernet_squeeze"
stacks = 1
stem = [8, 16]
widths = [16, 16]
blocks = [1, 1]
[loss]
name = "cornernet"
[optim]
name = "adam"
lr = 1e-3
[val]
every = 2
metrics = []
[snapshot]
every = 2
[display]
every = 1
[detect]
top_k = 10
num_dets = 50
)";

}  // namespace flowtrain
