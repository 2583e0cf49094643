/** What Brief asks about: words from many fields, none of them in the neutral prompts. */
export const terms: readonly string[] = [
  ...'osmosis,photosynthesis,mitosis,evolution,natural selection,an enzyme,a hormone,a vaccine'.split(
    ',',
  ),
  ...'an antibody,a virus,a gene,DNA,an ecosystem,biodiversity,symbiosis,pollination,hibernation'.split(
    ',',
  ),
  ...'metabolism,a chromosome,a stem cell,a neuron,digestion,the immune system,a predator'.split(
    ',',
  ),
  ...'camouflage,fermentation,an allergy,a reflex,a parasite,homeostasis,respiration,a mutation'.split(
    ',',
  ),
  ...'gravity,friction,inertia,momentum,acceleration,buoyancy,kinetic energy,potential energy'.split(
    ',',
  ),
  ...'magnetism,a battery,refraction,resonance,entropy,radiation,nuclear fusion,nuclear fission'.split(
    ',',
  ),
  ...'a black hole,relativity,the Doppler effect,a superconductor,an electric motor,a laser'.split(
    ',',
  ),
  ...'a sound wave,air pressure,torque,a semiconductor,conduction,convection,surface tension'.split(
    ',',
  ),
  ...'an atom,a molecule,an isotope,an acid,a catalyst,oxidation,distillation,a polymer,an alloy'.split(
    ',',
  ),
  ...'evaporation,condensation,a crystal,pH,corrosion,combustion,an ion,a chemical bond'.split(','),
  ...'a volcano,an earthquake,plate tectonics,erosion,a peninsula,a tsunami,the water cycle'.split(
    ',',
  ),
  ...'the carbon cycle,acid rain,a hurricane,a tornado,a delta,an aquifer,a fossil'.split(','),
  ...'an eclipse,a comet,a nebula,a supernova,the ozone layer,the tropics,a fjord,permafrost'.split(
    ',',
  ),
  ...'inflation,a recession,a monopoly,interest,a loan,a stock,a bond,a tariff,a budget'.split(','),
  ...'supply and demand,opportunity cost,gross domestic product,a subsidy,bankruptcy,insurance'.split(
    ',',
  ),
  ...'compound interest,a dividend,a trade deficit,outsourcing,a hedge fund,depreciation'.split(
    ',',
  ),
  ...'democracy,a republic,a constitution,federalism,a veto,diplomacy,a monarchy,habeas corpus'.split(
    ',',
  ),
  ...'a treaty,an embargo,a coalition,censorship,propaganda,colonialism,feudalism'.split(','),
  ...'the Renaissance,the Enlightenment,the Industrial Revolution,the Cold War,the Silk Road'.split(
    ',',
  ),
  ...'a metaphor,irony,alliteration,a sonnet,an allegory,satire,a fable,an idiom,a paradox'.split(
    ',',
  ),
  ...'a synonym,onomatopoeia,a dialect,etymology,a narrator,foreshadowing,hyperbole'.split(','),
  ...'perspective in drawing,cubism,impressionism,a fresco,a symphony,an opera,a fugue,rhythm'.split(
    ',',
  ),
  ...'counterpoint,a mosaic,origami,calligraphy,a ballad,jazz,a sculpture,improvisation'.split(','),
  ...'an algorithm,recursion,encryption,a database,a compiler,an operating system,a firewall'.split(
    ',',
  ),
  ...'cloud computing,machine learning,a neural network,a blockchain,bandwidth,a router'.split(','),
  ...'open source,a cache,a pixel,a search engine,a cookie on the web,virtual memory'.split(','),
  ...'probability,a prime number,an integral,a derivative,a vector,a matrix,a logarithm'.split(','),
  ...'standard deviation,a fraction,pi,the Pythagorean theorem,correlation,a fractal'.split(','),
  ...'empathy,the placebo effect,cognitive bias,a phobia,conditioning,motivation,memory'.split(','),
  ...'stoicism,utilitarianism,existentialism,karma,the scientific method,a hypothesis,ethics'.split(
    ',',
  ),
]
