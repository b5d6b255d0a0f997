#pragma once
/// @file
/// Replaces NVTX's header of this name: names for parts of a program, which profilers show. All calls do nothing.
#include <stdint.h>

#define NVTX_VERSION 3                                               ///< The interface.
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE sizeof(nvtxEventAttributes_t)  ///< For nvtxEventAttributes_t::size.

enum nvtxColorType_t { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 };
enum nvtxMessageType_t { NVTX_MESSAGE_UNKNOWN = 0, NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE = 2 };
enum nvtxPayloadType_t {
  NVTX_PAYLOAD_UNKNOWN = 0,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
  NVTX_PAYLOAD_TYPE_INT64 = 2,
  NVTX_PAYLOAD_TYPE_DOUBLE = 3,
};

/// How a range looks.
struct nvtxEventAttributes_t {
  uint16_t version;     ///< NVTX_VERSION.
  uint16_t size;        ///< NVTX_EVENT_ATTRIB_STRUCT_SIZE.
  uint32_t category;    ///< Of nvtxNameCategoryA.
  int32_t colorType;    ///< NVTX_COLOR_ARGB.
  uint32_t color;       ///< 0xAARRGGBB.
  int32_t payloadType;  ///< Which member of `payload`.
  int32_t reserved0;    ///< Unused.
  union {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
  } payload;            ///< A number to show.
  int32_t messageType;  ///< NVTX_MESSAGE_TYPE_ASCII.
  union {
    const char* ascii;
    const wchar_t* unicode;
  } message;  ///< The name.
};

using nvtxRangeId_t = uint64_t;
struct nvtxDomainRegistration_st;
using nvtxDomainHandle_t = nvtxDomainRegistration_st*;

// clang-format off
inline int nvtxRangePushA(const char*) { return 0; }
inline int nvtxRangePushEx(const nvtxEventAttributes_t*) { return 0; }
inline int nvtxRangePop() { return 0; }
inline void nvtxMarkA(const char*) {}
inline void nvtxMarkEx(const nvtxEventAttributes_t*) {}
inline nvtxRangeId_t nvtxRangeStartA(const char*) { return 0; }
inline nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t*) { return 0; }
inline void nvtxRangeEnd(nvtxRangeId_t) {}
inline void nvtxNameCategoryA(uint32_t, const char*) {}
inline void nvtxNameOsThreadA(uint32_t, const char*) {}
inline nvtxDomainHandle_t nvtxDomainCreateA(const char*) { return nullptr; }
inline void nvtxDomainDestroy(nvtxDomainHandle_t) {}
inline int nvtxDomainRangePushEx(nvtxDomainHandle_t, const nvtxEventAttributes_t*) { return 0; }
inline int nvtxDomainRangePop(nvtxDomainHandle_t) { return 0; }
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA
// clang-format on
