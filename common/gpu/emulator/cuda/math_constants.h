#pragma once
/// @file
/// Replaces CUDA's header of this name: mathematical constants.

#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_MAX_NORMAL_F 3.402823466e38F
#define CUDART_PI_F 3.141592654F
#define CUDART_SQRT_TWO_F 1.414213562F
#define CUDART_L2E_F 1.442695041F
#define CUDART_LN2_F 0.693147181F
#define CUDART_INF __builtin_inf()
#define CUDART_NAN __builtin_nan("")
#define CUDART_PI 3.1415926535897931e+0
