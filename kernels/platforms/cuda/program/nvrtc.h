// NVRTC's names on hiprtc's, and what a program needs of the driver's with them.
#pragma once

#include <hip/hiprtc.h>

#define nvrtcProgram hiprtcProgram
#define nvrtcResult hiprtcResult
#define NVRTC_SUCCESS HIPRTC_SUCCESS
#define NVRTC_ERROR_COMPILATION HIPRTC_ERROR_COMPILATION
#define nvrtcGetErrorString hiprtcGetErrorString
#define nvrtcCreateProgram hiprtcCreateProgram
#define nvrtcDestroyProgram hiprtcDestroyProgram
#define nvrtcCompileProgram hiprtcCompileProgram
#define nvrtcAddNameExpression hiprtcAddNameExpression
#define nvrtcGetLoweredName hiprtcGetLoweredName
#define nvrtcGetProgramLogSize hiprtcGetProgramLogSize
#define nvrtcGetProgramLog hiprtcGetProgramLog
#define nvrtcGetPTXSize hiprtcGetCodeSize
#define nvrtcGetPTX hiprtcGetCode
