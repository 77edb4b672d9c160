option(FLOWTRAIN_CUDA "Build the CUDA parts (on where nvcc is found)" ON)
