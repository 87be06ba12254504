// A CUDA driver with one device and an NVRTC, for programs that ask for kernels and launch none. The "machine code" is the list of the
// compiler's arguments. Environment: SIMULATED_LOG gets a line at the beginning and one at the end of each compilation, with the
// thread; SIMULATED_SLEEP is how many milliseconds one takes, of programs with the argument SIMULATED_SLOW if that is given; programs
// with the argument SIMULATED_WRONG do not compile; SIMULATED_ARCHITECTURE is the device's (90).
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int context_object;
static void* current;

int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int* v) { return *v = 13000, 0; }
int cuDeviceGetCount(int* n) { return *n = 1, 0; }
int cuDeviceGet(int* d, int i) { return *d = i, 0; }
int cuDeviceGetName(char* name, int n, int d) { return strncpy(name, "Simulated GPU", n), 0; }
int cuDeviceTotalMem_v2(size_t* n, int d) { return *n = (size_t)1 << 34, 0; }
int cuDeviceGetAttribute(int* v, int attribute, int d) {
  const char* own = getenv("SIMULATED_ARCHITECTURE");
  const int architecture = own ? atoi(own) : 90;
  *v = attribute == 75 ? architecture / 10 : attribute == 76 ? architecture % 10 : 132;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** c, int d) { return *c = &context_object, 0; }
int cuCtxSetCurrent(void* c) { return current = c, 0; }
int cuCtxGetCurrent(void** c) { return *c = current, 0; }
int cuCtxGetDevice(int* d) { return *d = 0, 0; }
int cuCtxSynchronize(void) { return 0; }
int cuMemAllocAsync(void) { return 2; }
int cuStreamBeginCapture_v2(void) { return 1; }
int cuGetErrorName(int e, const char** s) { return *s = "SIMULATED", 0; }
int cuGetErrorString(int e, const char** s) { return *s = "simulated error", 0; }
int cuModuleLoadData(void** module, const void* image) {
  if (strncmp(image, "code ", 5) != 0) return 200;
  return *module = strdup(image), 0;
}
int cuModuleGetFunction(void** f, void* module, const char* name) {
  if (strcmp(name, "absent") == 0) return 500;
  return *f = module, 0;
}

static void say(const char* what, const char* program) {
  const char* path = getenv("SIMULATED_LOG");
  FILE* log = path ? fopen(path, "a") : NULL;
  if (!log) return;
  fprintf(log, "%s %d %s\n", what, (int)gettid(), program);
  fclose(log);
}

struct Program {
  char code[2048];
  int wrong;
  int (*callback)(void*, void*);
};
static const char kWrong[] = "shim_kernels.cu(1): error: a simulated mistake\n";

int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
int nvrtcCreateProgram(
    struct Program** p, const char* source, const char* name, int n, const char* const* a, const char* const* b) {
  return *p = calloc(1, sizeof **p), 0;
}
int nvrtcSetFlowCallback(struct Program* p, int (*callback)(void*, void*), void* payload) {
  return p->callback = callback, 0;
}
// As NVRTC's own: what compilations use is made by the first one, and gone when the exit handlers run.
static int used, gone;
static void end(void) { gone = 1; }
static void use(void) {
  if (!__atomic_exchange_n(&used, 1, __ATOMIC_SEQ_CST)) atexit(end);
  if (gone) abort();
}
int nvrtcCompileProgram(struct Program* p, int n, const char* const* arguments) {
  const char *milliseconds = getenv("SIMULATED_SLEEP"), *wrong = getenv("SIMULATED_WRONG"),
             *slow = getenv("SIMULATED_SLOW");
  int sleeps = !slow;
  use();
  strcpy(p->code, "code");
  for (int i = 0; i < n; ++i) {
    if (wrong && strcmp(arguments[i], wrong) == 0) p->wrong = 1;
    if (slow && strcmp(arguments[i], slow) == 0) sleeps = 1;
    strncat(p->code, " ", sizeof p->code - strlen(p->code) - 1);
    strncat(p->code, arguments[i], sizeof p->code - strlen(p->code) - 1);
  }
  say("begin", p->code);
  for (int left = milliseconds && sleeps ? atoi(milliseconds) : 0; left > 0; left -= 10) {
    usleep(10000);
    use();
    if (p->callback && p->callback(p, NULL)) return say("stopped", p->code), 12;
  }
  say("end", p->code);
  return p->wrong ? 6 : 0;
}
int nvrtcGetCUBINSize(struct Program* p, size_t* n) { return *n = p->wrong ? 0 : strlen(p->code) + 1, 0; }
int nvrtcGetCUBIN(struct Program* p, char* to) { return strcpy(to, p->code), 0; }
int nvrtcGetProgramLogSize(struct Program* p, size_t* n) { return *n = p->wrong ? sizeof kWrong : 1, 0; }
int nvrtcGetProgramLog(struct Program* p, char* to) { return strcpy(to, p->wrong ? kWrong : ""), 0; }
int nvrtcDestroyProgram(struct Program** p) { return free(*p), 0; }
