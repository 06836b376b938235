package config

import "time"

// Config is a resolved configuration. The parameters of a run after any step are a function of its configuration alone.
//
// The tags describe the keys, as package setting documents. A source is Becker-Ehmck et al. (2019), or the authors'
// published code of the model's predecessor, which decides what the paper leaves open.
//
// Copies share the settings of their kinds. Clone makes a copy that may be changed.
type Config struct {
	Preset string `yaml:"preset" bits:"same" doc:"the preset on which this configuration was built"`
	Seed   uint64 `yaml:"seed" doc:"seed of every random number of the run"`

	Env     Env     `yaml:"env" doc:"the simulated system"`
	Model   Model   `yaml:"model" doc:"the state-space model"`
	Optim   Optim   `yaml:"optim" doc:"the optimiser"`
	Train   Train   `yaml:"train" doc:"the training loop"`
	Eval    Eval    `yaml:"eval" doc:"the evaluation after training"`
	Cluster Cluster `yaml:"cluster" doc:"communication of workers and coordinator; no value here changes a result"`

	kinds *Kinds
}

// Env describes the data: the keys of every kind, and the settings of the chosen kind.
type Env struct {
	Kind     string `yaml:"kind" doc:"source of the sequences" source:"paper, section FitzHugh-Nagumo"`
	Episodes int    `yaml:"episodes" want:"[1,16777216]" doc:"distinct training episodes" source:"paper, FHN: 100"`
	Length   int    `yaml:"length" want:"[4,100000]" doc:"time steps of a training episode" source:"paper, FHN: 400"`
	Window   int    `yaml:"window" want:"[0,100000]" doc:"time steps of the windows cut from an episode; 0: the whole episode" source:"authors' code: 40"`

	Settings any // of the kind, a pointer to the struct that its Kind makes
}

// Model is the chosen family of models, with its settings.
type Model struct {
	Kind string `yaml:"kind" doc:"family of models"`

	Settings any // of the kind, a pointer to the struct that its Kind makes
}

// Optim describes Adam, its learning rate and the clipping of the gradient. The rate of update i (from 0) is
// rate*decay^floor(i/decay_every), or with the cosine rate*(final + (1-final)*(1+cos(pi*i/train.horizon))/2) before
// train.horizon and rate*final after it; during the warm-up it is multiplied by (i+1)/warmup.
type Optim struct {
	Rate       float64 `yaml:"rate" want:"(0,10]" doc:"learning rate of the first update" source:"paper, appendix Training: 5e-4"`
	Schedule   string  `yaml:"schedule" was:"exponential" ends:"train.horizon" values:"exponential cosine" doc:"schedule of the learning rate: exponential (multiplied by decay every decay_every updates) or cosine (half a cosine, to final at train.horizon)"`
	Decay      float64 `yaml:"decay" only:"optim.schedule=exponential" want:"(0,1]" doc:"factor on the learning rate (exponential only)" source:"paper, appendix Training: 0.95, 0.97 or 0.98"`
	DecayEvery uint64  `yaml:"decay_every" only:"optim.schedule=exponential" want:"[1,1000000000]" doc:"updates between two decays (exponential only)" source:"paper, appendix Training: 2000"`
	Final      float64 `yaml:"final" only:"optim.schedule=cosine" want:"[0,1]" doc:"share of the learning rate at the end of the schedule (cosine only)"`
	Warmup     uint64  `yaml:"warmup" was:"0" want:"[0,1000000000]" doc:"warm-up: first updates, over which the learning rate rises linearly; 0: none"`
	Clip       float64 `yaml:"clip" want:"[0,1000000]" doc:"largest global norm of the gradient; 0: no limit" source:"authors' code: 1"`
	ClipFactor float64 `yaml:"clip_factor" was:"0" want:"[0,1000000]" doc:"largest global norm of the gradient as a multiple (at least 1) of the running norm of the clipped gradients before; 0: no limit"`
	ClipSize   float64 `yaml:"clip_size" was:"0" want:"[0,1000]" doc:"largest size of the gradient in units of Adam's second moment, the root mean square of g/√v, which is usually about 1; 0: no limit"`
	Outlier    float64 `yaml:"outlier" was:"0" want:"[0,1000000000]" doc:"skip updates whose gradient norm exceeds this many times (above 1) the running norm, after the warm-up and the first hundred updates; 0: skip none"`
	Factors    string  `yaml:"factors" was:"\"\"" doc:"factors on the learning rate of groups of parameters, named by a parameter or by the first parts of its name, e.g. transition.Q=10,encoder=0.5; the longest match counts; empty: none"`
	Beta1      float64 `yaml:"beta1" want:"[0,1)" doc:"decay of Adam's first moment"`
	Beta2      float64 `yaml:"beta2" want:"[0,1)" doc:"decay of Adam's second moment"`
	Epsilon    float64 `yaml:"epsilon" want:"[1e-37,1]" doc:"added to the root of Adam's second moment"`
	Average    float64 `yaml:"average" was:"0" want:"[0,1)" doc:"memory of the exponential (Polyak) average of the parameters over updates, which is validated and evaluated instead of the last parameters; 0: no average"`
}

// Train describes the loop. A batch is divided into shards, whose gradients are summed in a complete binary tree:
// the sum has the same bits whichever worker computes which shard, and in whatever order they arrive. Numbers of
// shards, of the batch and of steps have to fit each other; see rules.
type Train struct {
	Steps              uint64 `yaml:"steps" bits:"same" want:"[1,1000000000]" doc:"updates"`
	Horizon            uint64 `yaml:"horizon" was:"0" want:"[0,1000000000]" doc:"updates after which finite schedules (optim.schedule=cosine, anneal.until, anneal.kl_until) end; 0: train.steps at the beginning of the run"`
	Batch              int    `yaml:"batch" want:"[1,1048576]" doc:"sequences per update" source:"paper, FHN: 32"`
	Shards             int    `yaml:"shards" want:"[1,65536]" doc:"pieces of a batch that workers compute; a power of two that divides batch"`
	Gradients          string `yaml:"gradients" was:"float32" values:"float32 int16 int8" doc:"format of gradients sent by workers: float32, or 16- or 8-bit integers with one scale per 256 parameters, which takes half or a quarter of the bytes and rounds at random without bias"`
	Parameters         string `yaml:"parameters" was:"float32" values:"float32 delta16 delta8" doc:"format of parameters sent to workers: float32, or the change of each step, rounded to 16- or 8-bit integers with one scale per 256, which takes half or a quarter of the bytes; the rounding error is carried over to the next step"`
	ValidateEvery      uint64 `yaml:"validate_every" bits:"same" want:"[0,1000000000]" doc:"updates between validations; 0: only at the end"`
	Patience           uint64 `yaml:"patience" bits:"same" want:"[0,1000000]" doc:"end training after this many validations without a lower loss; the best parameters are kept; 0: train all steps"`
	ValidationEpisodes int    `yaml:"validation_episodes" bits:"same" want:"[1,1048576]" doc:"sequences per validation, a multiple of shards"`
	CheckpointEvery    uint64 `yaml:"checkpoint_every" bits:"same" want:"[0,1000000000]" doc:"updates between checkpoints; 0: only at the end"`

	Method        string  `yaml:"method" was:"synchronous" values:"synchronous diloco" doc:"synchronous: exchange gradients at every update; diloco: replicas make local updates and exchange how far they have moved (Douillard et al. 2023), for slow links"`
	Replicas      int     `yaml:"replicas" only:"train.method=diloco" want:"[0,65536]" doc:"replicas that train separately, each on its part of the batch (diloco only); a power of two that divides shards"`
	LocalSteps    uint64  `yaml:"local_steps" only:"train.method=diloco" want:"[0,1000000]" doc:"local updates between exchanges (diloco only); steps, validate_every and checkpoint_every must be multiples"`
	OuterRate     float64 `yaml:"outer_rate" only:"train.method=diloco" want:"(0,10]" doc:"learning rate of the outer update, from the mean movement of the replicas (diloco only)" source:"Douillard et al. 2023: 0.7"`
	OuterMomentum float64 `yaml:"outer_momentum" only:"train.method=diloco" want:"[0,1)" doc:"Nesterov momentum of the outer update (diloco only)" source:"Douillard et al. 2023: 0.9"`
}

// Eval describes the evaluation protocol: what is predicted, from how much of the past, and by how many samples. No
// key of it changes a bit of the training.
type Eval struct {
	Horizon      int `yaml:"horizon" want:"[1,10000]" doc:"time steps predicted" source:"paper, FHN: 30"`
	Samples      int `yaml:"samples" want:"[1,100000]" doc:"latent rollouts averaged into one prediction"`
	FilterWindow int `yaml:"filter_window" want:"[0,100000]" doc:"time steps filtered before a prediction; 0: the whole past"`
	Importance   int `yaml:"importance" was:"0" want:"[0,100000]" doc:"draws of all latent variables for the importance-weighted bound, reported beside the ELBO at validation; 0: no such bound"`
}

// Cluster describes the message path. Its keys change how long a step takes and which faults are noticed, never a
// result.
type Cluster struct {
	FailureDetection time.Duration `yaml:"failure_detection" want:"[0.1,3600]" doc:"time without a message from a worker after which its shards go to another worker"`
	Chunk            int           `yaml:"chunk" want:"[1024,1044480]" doc:"bytes of a tensor per message, a multiple of 4; NATS allows 1 MiB by default"`
	Credit           int           `yaml:"credit" want:"[1024,1073741824]" doc:"most bytes of results in flight to the coordinator"`
	Exchange         string        `yaml:"exchange" was:"star" values:"star sharded auto" doc:"exchange of gradients: star (the coordinator pulls and sums those of all workers), sharded (workers sum sections and the coordinator pulls one sum; for many workers on hosts with their own brokers), or auto (the faster of the two, by measurement)"`
	Audit            float64       `yaml:"audit" want:"[0,1]" doc:"share of the blocks that a second worker also computes before they count; a worker whose bits differ is quarantined"`
	AuditSums        float64       `yaml:"audit_sums" was:"0" want:"[0,1]" doc:"if workers sum the gradient (cluster.exchange): least share of their sums, and of the blocks in them, that a second worker also computes"`
}
